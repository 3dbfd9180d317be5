/** The server's clock: that of a phone may be wrong by hours. */

let skewMs = 0;

/** @param {number} serverMs the server's time, just received */
export function setServerTime(serverMs) {
  const next = serverMs - Date.now();
  // What a message takes to arrive is not worth a jump of every age on the page.
  if (Math.abs(next - skewMs) > 2_000 || skewMs === 0) skewMs = next;
}

export function nowMs() {
  return Date.now() + skewMs;
}
