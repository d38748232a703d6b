"""The passwords that are tried first: known words with a number behind them, runs of keys, one's own name; pure."""

import itertools
import re
import unicodedata

# The longer ones of the lists that are tried first, and the words of shorter ones, to which people add numbers.
_WORDS = frozenset(
    """
    abc access account adidas admin administrator airplane aaaaaa amanda america andrea andrew angel angela anthony
    apple arsenal asdf asdfgh asdfghjkl ashley august austin babygirl bailey banana barcelona barney baseball
    basketball batman benjamin bigdaddy blink bonnie brandon brooklyn buster butterfly calvin changeme charles charlie
    cheese chelsea chicago chicken chocolate chris christian coffee computer cookie corvette courtney cowboy cowboys
    crystal daniel danielle default demo diablo diamond dolphin dragon eagles elephant elizabeth eminem estrella
    facebook family ferrari fish flower football forever freedom friends gateway george ginger google guest
    hammer hannah harley heather hello helloworld hockey hunter iloveyou internet jackson james jasmine jennifer
    jessica jordan joseph joshua justin killer ladybug lakers letmein liverpool login london lovely loveme lucky
    madison maggie magic manchester marina marlboro martin master matrix matthew melissa mercedes merlin michael
    michelle midnight mickey money monkey monster morgan mother mustang naruto nicholas nicole nothing october oliver
    orange overlord pa55word p@55w0rd p@ssw0rd p@ssword pass passw0rd passwd password patrick peanut pepper phoenix
    player pokemon porsche princess private purple qazwsx qazwsxedc qwer qwert qwerty qwertyui qwertyuiop rainbow
    ranger raiders rebecca recount redsox robert rockstar root samantha samsung school scooter secret september service
    shadow silver simple slipknot snoopy snowball soccer softball spiderman spring starwars steelers summer sunflower
    sunshine superman superstar taylor temp tennis test testing thomas thunder tigger trustno user victoria warcraft
    welcome whatever william winter wizard yankees yellow zaq12wsx zaq1zaq1 zxcvbn zxcvbnm
    """.split()  # noqa: SIM905 - so that a person can read it
)
# Hangul that is typed on Latin keys counts as the keys.
_RUNS = (
    "abcdefghijklmnopqrstuvwxyz",
    "012345678901234567890",
    "qwertyuiop",
    "asdfghjkl",
    "zxcvbnm",
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p",
    "qazwsxedcrfvtgbyhnujmikolp",
    "1q2w3e4r5t6y7u8i9o0p",
    "q1w2e3r4t5y6u7i8o9p0",
    "ㅂㅈㄷㄱㅅㅛㅕㅑㅐㅔ",
    "가나다라마바사아자차카타파하",
)
_LOOK_ALIKES = str.maketrans("@$!?0134578", "asiioieastb")
_LETTERS = re.compile(r"[\W\d_]+")
_LONGEST = 24


def is_easily_guessed(password: str, name: str = "") -> bool:
    """Whether a short list of guesses holds it. A long one is nobody's first guess."""
    folded = unicodedata.normalize("NFC", password).casefold()
    if len(folded) > _LONGEST:
        return False
    if folded in _WORDS or _repeats(folded) or _made_of_runs(folded):
        return True
    own = _LETTERS.sub("", unicodedata.normalize("NFC", name).casefold())
    plain = _LETTERS.sub("", folded)
    spoken = _LETTERS.sub("", folded.rstrip("0123456789!?.*#_-").translate(_LOOK_ALIKES))
    return any(_is_word(letters) or letters == own != "" for letters in (plain, spoken))


def _is_word(letters: str) -> bool:
    """One known word, also twice."""
    half = letters[: len(letters) // 2]
    return letters in _WORDS or (half in _WORDS and half * 2 == letters)


def _repeats(text: str) -> bool:
    """One to four characters again and again."""
    return any(text == (text[:size] * len(text))[: len(text)] for size in range(1, 5) if size < len(text))


def _made_of_runs(text: str) -> bool:
    """Stretches of at least three keys that lie beside each other, and nothing else, as in 123qwe or abcd4321."""
    place = 0
    while place < len(text):
        ahead = next((size for size in range(len(text), place + 2, -1) if _is_run(text[place:size])), 0)
        if not ahead:
            return False
        place = ahead
    return True


def _is_run(text: str) -> bool:
    return any(text in run for run in itertools.chain(_RUNS, (run[::-1] for run in _RUNS)))
