"""Puts the server together from a configuration: model file, tokenizer, engine, application."""

from collections.abc import Callable

import structlog
from starlette.applications import Starlette

from inference_server.api.application import create_app
from inference_server.api.diagnosis import Diagnosis
from inference_server.api.generation import Generator, ServedModel
from inference_server.api.inspection import Inspection
from inference_server.async_engine import AsyncEngine
from inference_server.config import ServerConfig
from inference_server.engine import Engine
from inference_server.errors import ModelFileError
from inference_server.gguf_file import GgufFile
from inference_server.model.runner import load_opened_model
from inference_server.model_runner import ModelRunner
from inference_server.records import Records
from inference_server.scheduler import Scheduler
from inference_server.stats import Stats
from inference_server.step_cost import measure_step_cost
from inference_server.text.chat_template import ChatMessage, ChatTemplate
from inference_server.text.prompt import PromptBuilder
from inference_server.text.template_check import template_faults
from inference_server.text.tokenizer import TextTokenizer
from inference_server.text.transcripts import Transcripts

log = structlog.get_logger(__name__)


def load_app(config: ServerConfig, *, on_death: Callable[[], None]) -> Starlette:
    """Load the model and build the application. Raises ModelFileError or ConfigError."""
    file = GgufFile.open(config.model)
    tokenizer = TextTokenizer(file.metadata)
    template = _template(file, tokenizer, config.chat_template)
    end_tokens = _end_tokens(tokenizer, template)
    runner = load_opened_model(
        file,
        kv_bytes=config.kv_bytes,
        compute=config.compute,
        deterministic=config.deterministic,
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
    cost = measure_step_cost(runner, model.window)
    scheduler = Scheduler(
        runner.num_slots,
        max_running=config.max_running,
        chunk_tokens=config.chunk_tokens,
        mixed_chunk_tokens=lambda context: max(config.least_chunk_tokens, cost.rows_within(config.step_s, context)),
    )
    stats = Stats(runner.num_slots)
    engine = AsyncEngine(Engine(runner, scheduler), stats, on_death=on_death)
    transcripts = Transcripts(tokenizer, model.end_tokens, max_bytes=config.transcript_bytes)
    prompts = PromptBuilder(tokenizer, template, transcripts, model.id, resends_seen=config.history == "transcript")
    generator = Generator(config, model, tokenizer, prompts, engine, stats)
    records = Records(max_bytes=config.record_bytes)
    diagnosis = Diagnosis(records, tokenizer, stats, generator.serving_id, prefix_cache=config.prefix_cache)
    inspection = Inspection(records, tokenizer, prompts, engine, (runner.layers, runner.heads))
    return create_app(config, generator, engine, stats, diagnosis, inspection)


def _template(file: GgufFile, tokenizer: TextTokenizer, chosen: str | None) -> ChatTemplate:
    source = chosen or file.metadata.get("tokenizer.chat_template")
    if not isinstance(source, str):
        raise ModelFileError(f"{file.path.name} has no chat template, so it cannot hold a conversation")
    bos, eos = (
        tokenizer.pieces[file.metadata[key]] if key in file.metadata else ""
        for key in ("tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id")
    )
    for fault in template_faults(source, bos_token=bos, eos_token=eos):
        log.warning("chat_template", fault=fault)
    return ChatTemplate(source, bos_token=bos, eos_token=eos)


def _end_tokens(tokenizer: TextTokenizer, template: ChatTemplate) -> frozenset[int]:
    """Every token that ends an answer: those the file names, the template's closing marker, and end of text."""
    conversation = [
        ChatMessage("user", ("a",)),
        ChatMessage("assistant", ("b",)),
        ChatMessage("user", ("c",)),
    ]
    pieces = template.pieces(conversation)
    after_answer = next(n for n, piece in enumerate(pieces) if piece.message == 1) + 1
    closing = tokenizer.encode_template(pieces[after_answer].text)[:1]
    end_of_text = [i for i in tokenizer.control_ids if tokenizer.pieces[i] == "<|endoftext|>"]
    return tokenizer.eos_ids | (tokenizer.control_ids & {*closing, *end_of_text})
