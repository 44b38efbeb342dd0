"""The properties by name, in the order in which tables show them."""

from __future__ import annotations

from mmaproof.designs.errors import InputError, did_you_mean
from mmaproof.properties.library.carry import CarryBits
from mmaproof.properties.library.enough_bits import FractionBitsSufficient
from mmaproof.properties.library.error_bound import ErrorBound
from mmaproof.properties.library.exactness import ExactnessOfC, ExactnessOfProducts
from mmaproof.properties.library.monotonicity import MonotoneInA, MonotoneInC
from mmaproof.properties.library.normalisation import NormalisedInAddition, NormalisedInSubtraction
from mmaproof.properties.library.padding import FractionBits, GuardBit, StickyBit
from mmaproof.properties.library.products import AccumulationPrecision, ProductsExact
from mmaproof.properties.library.rounding import ConversionRounding, CorrectlyRounded, LowBitsZero
from mmaproof.properties.library.scaling import Scaling
from mmaproof.properties.library.specials import (
    FiniteGivesNumbers,
    InvalidProducts,
    NanCodes,
    NanPropagates,
    OppositeInfinities,
    OverflowToInfinity,
    UnderflowSign,
    ZeroSumPositive,
)
from mmaproof.properties.library.subnormals import SubnormalAccumulator, SubnormalOperands, SubnormalResults
from mmaproof.properties.library.symmetry import ChainOrder, ExchangeSymmetric, NegationSymmetric, OrderIndependence
from mmaproof.properties.library.zeros import AppendedZeros, PaddedK, ZeroTimesNonzero
from mmaproof.properties.property import Property

PROPERTIES: dict[str, Property] = {
    p.name: p
    for p in (
        ProductsExact(),
        AccumulationPrecision(),
        CorrectlyRounded(),
        ConversionRounding(),
        NormalisedInAddition(),
        NormalisedInSubtraction(),
        FractionBits(),
        FractionBitsSufficient(),
        GuardBit(),
        StickyBit(),
        OrderIndependence(),
        ChainOrder(),
        CarryBits(),
        ExactnessOfProducts(),
        ExactnessOfC(),
        ErrorBound(),
        LowBitsZero(),
        Scaling(),
        NegationSymmetric(),
        ExchangeSymmetric(),
        AppendedZeros(),
        PaddedK(),
        ZeroTimesNonzero(),
        SubnormalOperands(),
        SubnormalAccumulator(),
        SubnormalResults(),
        NanPropagates(),
        InvalidProducts(),
        OppositeInfinities(),
        FiniteGivesNumbers(),
        NanCodes(),
        OverflowToInfinity(),
        ZeroSumPositive(),
        UnderflowSign(),
        MonotoneInC(),
        MonotoneInA(),
    )
}


def find_property(name: str) -> Property:
    """Return the property called ``name``; InputError lists the names, those that are close to it first.

    >>> import mmaproof
    >>> mmaproof.find_property("products-exact").feature
    'products are exact'
    """
    wanted = name.strip().lower()
    found = PROPERTIES.get(wanted)
    if found is None:
        close = did_you_mean(wanted, list(PROPERTIES))
        raise InputError(f"unknown property {name!r}{close}: one of {', '.join(PROPERTIES)}")
    return found
