"""What the product is measured by: whole servers over their API, steps of the model, memory. No part of the wheel."""
