"""Vectors of tokens are kept in 40 bytes, and compare nearly as they did."""

import numpy as np
import pytest

from lightwell.models.bge import EncodedText, encode, encode_question
from lightwell.models.local import load_tokenizer
from lightwell.models.token_codes import TokenCodes, load_token_codes

PASSAGE = (
    "Parcels are weighed at the counter. Whoever sends one abroad fills in a customs form,"
    " which lists what is inside and what it is worth. Letters need no form."
)
QUESTION = "What do I have to write down to post a parcel to another country?"


@pytest.fixture(scope="module")
def codes() -> TokenCodes:
    return load_token_codes()


@pytest.fixture(scope="module")
def read() -> EncodedText:
    return encode(load_tokenizer().encode(PASSAGE, add_special_tokens=False).ids)


def test_a_token_takes_40_bytes_and_its_likeness_to_a_question_stays(
    codes: TokenCodes, read: EncodedText
) -> None:
    packed = codes.encode(read.tokens)
    assert packed.shape == (len(read.tokens), 40)
    assert packed.dtype == np.uint8
    tokens = encode_question(QUESTION).tokens
    likeness = codes.compare(codes.of_question(tokens), packed)
    cosines = read.tokens @ tokens.T
    assert likeness.shape == cosines.shape
    assert np.corrcoef(likeness.ravel(), cosines.ravel())[0, 1] > 0.9
    assert np.abs(likeness - cosines).mean() < 0.05


def test_a_token_is_alike_whatever_stands_beside_it(codes: TokenCodes, read: EncodedText) -> None:
    packed = codes.encode(read.tokens)
    assert np.array_equal(codes.encode(read.tokens[3:5]), packed[3:5])
    tokens = codes.of_question(encode_question(QUESTION).tokens)
    many = np.tile(packed, (40, 1))  # more than are multiplied at once
    assert np.allclose(codes.compare(tokens, many)[-5:], codes.compare(tokens, packed)[-5:])


def test_the_vector_of_a_text_is_made_of_its_tokens(codes: TokenCodes, read: EncodedText) -> None:
    whole = codes.whole_of(codes.encode(read.tokens))
    assert np.linalg.norm(whole) == pytest.approx(1.0, abs=1e-5)
    other = encode_question("Dogs must be kept on a lead in the garden.").whole
    assert whole @ read.whole > 0.8 > whole @ other


def test_no_token_has_no_code(codes: TokenCodes) -> None:
    assert codes.encode(np.empty((0, 384), np.float32)).shape == (0, 40)
