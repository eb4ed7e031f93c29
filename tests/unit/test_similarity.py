import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightwell.domain.similarity import CosineScale, cosine_scale


@pytest.mark.parametrize("model", ["bge-small-en-v1.5-int8/windows-1", "BAAI/bge-small-en-v1.5"])
def test_a_measured_model_is_known_wherever_it_runs(model: str) -> None:
    assert cosine_scale(model).similarity(0.4) == pytest.approx(0)


def test_without_a_cosine_the_similarity_is_that_of_unrelated_texts() -> None:
    assert cosine_scale("bge-small-en-v1.5").similarity(None) == 0


def test_cosines_of_other_models_are_taken_as_they_are() -> None:
    assert cosine_scale("text-embedding-3-small") == CosineScale()
    assert CosineScale().similarity(0.25) == 0.25


@given(st.floats(-1, 1), st.floats(-1, 1), st.sampled_from(["bge-small-en-v1.5", "owl"]))
def test_a_scale_keeps_the_order(first: float, second: float, model: str) -> None:
    scale = cosine_scale(model)
    if first < second:
        assert scale.similarity(first) <= scale.similarity(second)
