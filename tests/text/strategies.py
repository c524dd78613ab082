"""Texts to test with: any at all, and those where splitting is hard."""

from hypothesis import strategies as st

HARD = (
    "aBzé\u0301\u0308ß'’-\u2010.,37\u0663 \t\n\r\u00a0\u2028\u0085\"\\<>/_()[]!?…"
    "न\u092e\u0938\u094d\u0924\u0947中国々〇ひ\u3099カター。「」한글ไทย"
    "😀\ufe0f\u200d\u200c\u200b\u00ad\u20e3\x00\x1f\ufeff\ufffd²Ⅳ"
)
hard_texts = st.text(st.sampled_from(HARD), max_size=40)
texts = st.one_of(
    st.text(max_size=40), hard_texts, st.sampled_from(["<pad>", "a <unk> b", "<start><end>"])
)
