"""All between text and token ids: tokenizer, chat template, remembered transcripts, detokenizer, stop strings."""
