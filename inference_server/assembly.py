"""Puts the server together from a configuration: model file, tokenizer, engine, application."""

from collections.abc import Callable

from starlette.applications import Starlette

from inference_server.api.application import create_app
from inference_server.api.generation import Generator, ServedModel
from inference_server.async_engine import AsyncEngine
from inference_server.config import ServerConfig
from inference_server.engine import Engine
from inference_server.errors import ModelFileError
from inference_server.gguf_file import GgufFile
from inference_server.model.runner import load_opened_model
from inference_server.model_runner import ModelRunner
from inference_server.scheduler import Scheduler
from inference_server.stats import Stats
from inference_server.text.chat_template import ChatMessage, ChatTemplate
from inference_server.text.prompt import PromptBuilder
from inference_server.text.tokenizer import TextTokenizer
from inference_server.text.transcripts import Transcripts


def load_app(config: ServerConfig, *, on_death: Callable[[], None]) -> Starlette:
    """Load the model and build the application. Raises ModelFileError or ConfigError."""
    file = GgufFile.open(config.model)
    tokenizer = TextTokenizer(file.metadata)
    template = _template(file, tokenizer)
    end_tokens = _end_tokens(tokenizer, template)
    runner = load_opened_model(
        file,
        kv_bytes=config.kv_bytes,
        compute_dtype=config.compute_dtype,
        device=config.device,
        banned_token_ids=tokenizer.control_ids - end_tokens,
    )
    model = ServedModel(
        id=config.model.stem,
        name=str(file.metadata.get("general.name", config.model.stem)),
        window=min(runner.shape.context, runner.num_slots),
        end_tokens=end_tokens,
    )
    return assemble(config, model, tokenizer, template, runner, on_death=on_death)


def assemble(
    config: ServerConfig,
    model: ServedModel,
    tokenizer: TextTokenizer,
    template: ChatTemplate,
    runner: ModelRunner,
    *,
    on_death: Callable[[], None],
) -> Starlette:
    """Build the application around a runner, whichever it is."""
    scheduler = Scheduler(
        runner.num_slots,
        max_running=config.max_running,
        chunk_tokens=config.chunk_tokens,
        mixed_chunk_tokens=config.mixed_chunk_tokens,
    )
    stats = Stats(runner.num_slots)
    engine = AsyncEngine(Engine(runner, scheduler), stats, on_death=on_death)
    transcripts = Transcripts(tokenizer, model.end_tokens, max_bytes=config.transcript_bytes)
    prompts = PromptBuilder(tokenizer, template, transcripts, model.id)
    generator = Generator(config, model, tokenizer, prompts, engine, stats)
    return create_app(config, generator, engine, stats)


def _template(file: GgufFile, tokenizer: TextTokenizer) -> ChatTemplate:
    source = file.metadata.get("tokenizer.chat_template")
    if not isinstance(source, str):
        raise ModelFileError(f"{file.path.name} has no chat template, so it cannot hold a conversation")
    bos, eos = (
        tokenizer.pieces[file.metadata[key]] if key in file.metadata else ""
        for key in ("tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id")
    )
    return ChatTemplate(source, bos_token=bos, eos_token=eos)


def _end_tokens(tokenizer: TextTokenizer, template: ChatTemplate) -> frozenset[int]:
    """Every token that ends an answer: those the file names, the template's closing marker, and end of text."""
    conversation = [
        ChatMessage("user", ("a",)),
        ChatMessage("assistant", ("b",)),
        ChatMessage("user", ("c",)),
    ]
    closing = tokenizer.encode_template(template.frame(conversation).before[2])[:1]
    end_of_text = [i for i in tokenizer.control_ids if tokenizer.pieces[i] == "<|endoftext|>"]
    return tokenizer.eos_ids | (tokenizer.control_ids & {*closing, *end_of_text})
