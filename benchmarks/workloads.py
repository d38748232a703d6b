"""The three workloads. Each runs once for all servers, whose turns of the same kind follow one another.

A longer run is a repetition of this with other texts, so that no server knows them from before.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

import anyio

from benchmarks.chat import SYSTEM_TOKENS, Chat, Exchange
from benchmarks.prompts import question
from benchmarks.results import Results
from benchmarks.servers import Server

Item = TypeVar("Item", Server, Chat)

QUESTION_TOKENS = 90
ANSWER_TOKENS = 64
SHORT_HISTORY = 150
"""Tokens in front of the turn 2 that longer histories are compared with."""
NEW_TURN_TOKENS = 64
SHORT_ANSWER_TOKENS = 8
WARM_TURNS = 3


def ordered(items: Sequence[Item], turn: int) -> Sequence[Item]:
    """The order of this turn: forwards and backwards by turns, so that nobody always comes first."""
    return items if turn % 2 == 0 else items[::-1]


@dataclass(frozen=True)
class Repetition:
    """`seed` is of this run; `number` counts from 0 and turns the order of the servers round."""

    seed: str
    number: int

    def text(self, name: str) -> str:
        """The seed of one text."""
        return f"{self.seed} {self.number} {name}"


async def growing_conversation(servers: Sequence[Server], repetition: Repetition, turns: int, results: Results) -> None:
    """One chat per server; each turn is asked of every server before the next."""
    name = f"growing conversation, {turns} turns"
    chats = [Chat(server, repetition.text("growing")) for server in servers]
    for turn in range(turns):
        text = question(repetition.text(f"growing {turn}"), QUESTION_TOKENS)
        for chat in ordered(chats, repetition.number + turn):
            await chat.ask(text, ANSWER_TOKENS)
    for chat in chats:
        results.add_reads(name, repetition.number, chat)
    for turn in range(turns):
        for chat in chats:
            for exchange in chat.exchanges[turn : turn + 1]:
                results.add(name, f"first token, turn {turn + 1}", "ms", chat.server.name, _first_token_ms(exchange))
    for turn in range(turns):
        for chat in chats:
            for exchange in chat.exchanges[turn : turn + 1]:
                results.add(name, f"decode, turn {turn + 1}", "tok/s", chat.server.name, exchange.decode_tokens_per_s)
    for chat in chats:
        results.add(name, "decode, all turns", "tok/s", chat.server.name, _decode_rate(chat.exchanges))


async def chats_at_once(
    servers: Sequence[Server], repetition: Repetition, count: int, turns: int, results: Results
) -> None:
    """So many growing conversations of one server at once, each going on as soon as it is answered."""
    name = f"{count} chats at once, {turns} turns"
    for server in ordered(servers, repetition.number):
        chats = [Chat(server, repetition.text(f"{count} chats {index}")) for index in range(count)]
        began = time.perf_counter()
        async with anyio.create_task_group() as group:
            for index, chat in enumerate(chats):
                group.start_soon(_converse, chat, repetition.text(f"{count} chats {index}"), turns)
        seconds = time.perf_counter() - began
        for chat in chats:
            results.add_reads(name, repetition.number, chat)
        if all(chat.refusal is None for chat in chats):
            _add_rates(name, chats, seconds, results)


async def long_histories(
    servers: Sequence[Server], repetition: Repetition, lengths: Sequence[int], results: Results
) -> None:
    """First tokens behind histories of so many tokens: cold when they are sent first, warm with new turns after that.

    Cold is measured on the history alone, which makes it a new turn shorter than the warm prompts.
    """
    turn_2: dict[str, float] = {}
    for length in (SHORT_HISTORY, *lengths):
        name = f"history of {length} tokens"
        chats = await _warmed(servers, repetition, length)
        for chat in chats:
            results.add_reads(name, repetition.number, chat)
            first, *later = [_first_token_ms(exchange) for exchange in chat.exchanges] or [None]
            warm = [sample for sample in later if sample is not None]
            if first is None or not warm:
                continue
            server = chat.server.name
            if length == SHORT_HISTORY:
                turn_2[server] = median(warm)
            results.add(name, "first token, cold", "ms", server, first)
            results.add(name, "first token, warm", "ms", server, median(warm))
            results.add(name, "warm / turn 2", "x", server, _ratio(median(warm), turn_2.get(server)))
            results.add(name, "warm / cold", "x", server, median(warm) / first)


async def _warmed(servers: Sequence[Server], repetition: Repetition, length: int) -> list[Chat]:
    seed = repetition.text(f"history {length}")
    chats = [Chat(server, seed) for server in servers]
    for turn in range(1 + WARM_TURNS):
        text = question(f"{seed} {turn}", length - SYSTEM_TOKENS if turn == 0 else NEW_TURN_TOKENS)
        for chat in ordered(chats, repetition.number + turn):
            await chat.ask(text, SHORT_ANSWER_TOKENS)
    return chats


async def _converse(chat: Chat, seed: str, turns: int) -> None:
    for turn in range(turns):
        await chat.ask(question(f"{seed} {turn}", QUESTION_TOKENS), ANSWER_TOKENS)


def _add_rates(name: str, chats: Sequence[Chat], seconds: float, results: Results) -> None:
    exchanges = [exchange for chat in chats for exchange in chat.exchanges]
    server = chats[0].server.name
    output = sum(exchange.usage.output_tokens or 0 for exchange in exchanges)
    results.add(name, "all output / wall time", "tok/s", server, output / seconds)
    for exchange in exchanges:
        results.add(name, "decode of one chat", "tok/s", server, exchange.decode_tokens_per_s)
        results.add(name, "first token", "ms", server, _first_token_ms(exchange))


def _first_token_ms(exchange: Exchange) -> float | None:
    return None if exchange.first_token_s is None else exchange.first_token_s * 1000


def _ratio(value: float, base: float | None) -> float | None:
    return value / base if base else None


def _decode_rate(exchanges: Sequence[Exchange]) -> float | None:
    """Tokens behind the first of each answer over the time that they took."""
    measured = [exchange for exchange in exchanges if exchange.decode_tokens_per_s is not None]
    tokens = sum((exchange.usage.output_tokens or 0) - 1 for exchange in measured)
    seconds = sum(exchange.seconds - (exchange.first_token_s or 0) for exchange in measured)
    return tokens / seconds if seconds else None
