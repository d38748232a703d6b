"""Twenty short prompts as token ids of a model file's own tokenizer. Independent of the server's tokenizer."""

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from inference_server.gguf_file import GgufFile

QUESTIONS = (
    "What is the capital of France?",
    "Name three colours of the rainbow.",
    "Why is the sky blue?",
    "How many legs does a spider have?",
    "Write one sentence about the sea.",
    "What is 12 plus 30?",
    "Translate 'good morning' into Spanish.",
    "Who wrote Romeo and Juliet?",
    "Give me a synonym for happy.",
    "What do bees make?",
    "Is the moon a planet?",
    "List the days of the weekend.",
    "What is water made of?",
    "Explain gravity to a child.",
    "Which animal says moo?",
    "How do I boil an egg?",
    "What comes after Tuesday?",
    "Finish: once upon a time",
    "What is the opposite of cold?\n\nOne word.",
    "Say hello in French, please.",
)


def load_tokenizer(file: GgufFile) -> Tokenizer:
    tokens, types = file.metadata["tokenizer.ggml.tokens"], file.metadata["tokenizer.ggml.token_type"]
    merges = [tuple(merge.split(" ")) for merge in file.metadata["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE({token: index for index, token in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([token for token, kind in zip(tokens, types, strict=True) if kind == 3])
    return tokenizer


def encode_prompts(file: GgufFile) -> list[list[int]]:
    tokenizer = load_tokenizer(file)
    return [tokenizer.encode(chat_text(question)).ids for question in QUESTIONS]


def chat_text(question: str) -> str:
    return f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
