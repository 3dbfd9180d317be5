/** Whether a text matches a pattern with `*` (any run) and `?` (any one character). */
export function globMatches(glob: string, text: string): boolean {
  let [inGlob, inText] = [0, 0];
  let [star, retryFrom] = [-1, 0];
  while (inText < text.length) {
    const wanted = glob[inGlob];
    if (wanted === '*') {
      star = inGlob;
      inGlob += 1;
      retryFrom = inText;
    } else if (wanted !== undefined && (wanted === '?' || wanted === text[inText])) {
      inGlob += 1;
      inText += 1;
    } else if (star !== -1) {
      retryFrom += 1;
      inText = retryFrom;
      inGlob = star + 1;
    } else {
      return false;
    }
  }
  while (glob[inGlob] === '*') inGlob += 1;
  return inGlob === glob.length;
}

export function isGlob(text: string): boolean {
  return /[*?]/.test(text);
}

/** Whether everything that `inner` matches is surely matched by `outer` too. */
export function globCovers(outer: string, inner: string): boolean {
  if (outer === inner) return true;
  // A `*` of the inner pattern is taken by a `*` of the outer one only.
  return globMatches(outer.replaceAll('?', isGlob(inner) ? '\u0000' : '?'), inner);
}
