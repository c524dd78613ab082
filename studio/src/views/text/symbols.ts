/** How a symbol is written in a sentence: white space has to be seen. */

export function visible(symbol: string): string {
  const text = symbol.replace(/ /g, "␣").replace(/\n/g, "↵").replace(/\t/g, "⇥").replace(/\r/g, "␍");
  return text === "" ? "nothing" : `“${text}”`;
}
