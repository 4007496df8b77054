from .contents import card_facts as card_facts
from .facts import CardFacts as CardFacts
from .markdown import render_card as render_card
from .plots import card_plots as card_plots
from .writing import store_card as store_card
from .writing import stored_card as stored_card
from .writing import write_card as write_card
