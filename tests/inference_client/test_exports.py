import inspect

import inference_client
from inference_client import errors


def test_all_names_everything_public_and_nothing_else() -> None:
    public = {
        name
        for name, value in vars(inference_client).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert set(inference_client.__all__) == public
    assert inference_client.__all__ == sorted(public, key=lambda name: (name.islower(), name))


def test_every_error_is_exported_and_drawn_in_the_tree() -> None:
    drawn = {}
    ancestors: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if "├── " in line or "└── " in line or line == "InferenceError":
            indent, _, rest = line.rpartition("── ")
            depth = (len(indent) + 3) // 4
            name = rest.split()[0]
            ancestors = [*ancestors[:depth], name]
            drawn[name] = ancestors[-2] if depth else "Exception"
    classes = {
        name: value.__bases__[0].__name__
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, Exception)
    }
    assert drawn == classes
    assert set(classes) <= set(inference_client.__all__)
