// How much several wordings of one thing differ: a policy learns little from the same one twice.

export interface Variety {
  /** Share of the words that occur in one wording only, 0 to 1. */
  distinct: number;
  /** The two most alike, and how alike they are, 0 to 1; null for fewer than two. */
  closest: { one: number; other: number; alike: number } | null;
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

export function varietyOf(texts: readonly string[]): Variety {
  const all = texts.map((text) => new Set(wordsOf(text)));
  const counts = new Map<string, number>();
  for (const set of all) for (const word of set) counts.set(word, (counts.get(word) ?? 0) + 1);
  const single = [...counts.values()].filter((count) => count === 1).length;
  let closest: Variety["closest"] = null;
  for (let one = 0; one < texts.length; one += 1) {
    for (let other = one + 1; other < texts.length; other += 1) {
      const alike = alikeness(texts[one] as string, texts[other] as string);
      if (!closest || alike > closest.alike) closest = { one, other, alike };
    }
  }
  return { distinct: counts.size ? single / counts.size : 0, closest };
}

/** Shared single words and pairs of words among all of both: order counts, but not alone. */
function alikeness(one: string, other: string): number {
  const [a, b] = [pieces(one), pieces(other)];
  const shared = [...a].filter((each) => b.has(each)).length;
  const total = new Set([...a, ...b]).size;
  return total ? shared / total : 1;
}

function pieces(text: string): Set<string> {
  const words = wordsOf(text);
  return new Set([...words, ...words.slice(1).map((word, place) => `${words[place]} ${word}`)]);
}

export function varietySentence(texts: readonly string[]): { text: string; isLow: boolean } {
  const { distinct, closest } = varietyOf(texts);
  if (!closest)
    return {
      text: "One more wording lets a policy hear the same thing said differently.",
      isLow: false,
    };
  const pair = `${closest.one + 1} and ${closest.other + 1}`;
  if (closest.alike > 0.98)
    return { text: `Wordings ${pair} are the same. Say one of them differently.`, isLow: true };
  const share = `${Math.round(distinct * 100)} % of the words occur in one wording only`;
  if (closest.alike > 0.6)
    return {
      text: `Wordings ${pair} are much alike; ${share}. Change verb or order.`,
      isLow: true,
    };
  return {
    text: `Good variety: ${share}; the nearest two (${pair}) share ${Math.round(closest.alike * 100)} %.`,
    isLow: false,
  };
}
