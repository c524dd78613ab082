/** Tokens as labels: visible, not too long, and as wide as they will look. */

const SHOWN: Record<string, string> = { " ": "␣", "\n": "⏎", "\r": "␍", "\t": "⇥", "\u00a0": "⍽", "\u3000": "□" };
const DISTURBING = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u; // those that turn the writing, too
const NARROW = /[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff]/u;
const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303f\uff01-\uff60]/u;

/** A token as it can be looked at: white space gets a sign, a mark that stands alone a circle. */
export function visible(token: string): string {
  const text = [...token].map(sign).join("");
  return /^\p{M}/u.test(text) ? `◌${text}` : text || "∅";
}

/** A text as it can be read: spaces stay, what would turn the writing around it does not. */
export function prose(text: string): string {
  return [...text].map((character) => (/\s/.test(character) ? " " : sign(character))).join("");
}

function sign(character: string): string {
  const shown = SHOWN[character];
  if (shown !== undefined) return shown;
  if (DISTURBING.test(character)) return "\ufffd";
  return /\p{Zs}/u.test(character) ? "␣" : character;
}

/** How many columns of a terminal the text takes: a Chinese character 2, an accent 0. */
export function columns(text: string): number {
  return [...text].reduce((sum, character) => sum + width(character), 0);
}

function width(character: string): number {
  if (NARROW.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

/** The text if it takes at most `limit` columns, else its start and `…`. */
export function cut(text: string, limit: number): string {
  if (columns(text) <= limit) return text;
  let [kept, room] = ["", limit - 1];
  for (const character of text) {
    room -= width(character);
    if (room < 0) break;
    kept += character;
  }
  return `${kept}…`;
}

/** About how wide the text is at 12 pixels, rather too much than too little. */
export function pixels(text: string): number {
  return 7.2 * columns(text);
}
