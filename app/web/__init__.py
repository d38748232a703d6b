"""The pages: routes, middleware, forms, templates and the event stream.

Everything they do is a call to one domain service; nothing here knows SQL or the model's wire protocol.
"""
