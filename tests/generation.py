"""How many examples Hypothesis generates, and whether they are the same in each run.

`make test` tries the same few examples each time, so that it fails for a change and never for bad luck.
`make test-long` tries many, other ones each time: `pytest --hypothesis-profile=thorough`.
"""

from hypothesis import HealthCheck, settings

_THOROUGH_FACTOR = 20


def register_profiles() -> None:
    """Register `suite`, which is in force, and `thorough`."""
    # A busy machine is slow, and a database is emptied between tests but not between examples.
    ignored = (HealthCheck.too_slow, HealthCheck.function_scoped_fixture)
    common = settings(deadline=None, suppress_health_check=ignored)
    settings.register_profile("suite", common, derandomize=True)
    settings.register_profile("thorough", common, max_examples=1000)
    settings.load_profile("suite")


def examples(few: int, *, thorough: int | None = None) -> settings:
    """Decorate a test to try `few` examples, and in the thorough profile `thorough`, by default twenty times as many."""
    is_thorough = settings.get_current_profile_name() == "thorough"
    many = few * _THOROUGH_FACTOR if thorough is None else thorough
    return settings(max_examples=many if is_thorough else few)
