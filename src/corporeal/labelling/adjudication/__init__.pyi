from .adjudication import Adjudication as Adjudication
from .adjudication import CardChoice as CardChoice
from .adjudication import decide_card as decide_card
from .adjudication import list_adjudications as list_adjudications
from .adjudication import open_adjudication as open_adjudication
from .cards import Card as Card
from .cards import CardSide as CardSide
