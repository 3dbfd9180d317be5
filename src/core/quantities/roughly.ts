/** `2 min 5 s`: a duration, rounded for people. */
export function roughly(ms: number): string {
  const past = Math.max(0, ms);
  if (past < 1_000) return 'under 1 s';
  const seconds = Math.floor(past / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 === 0 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} days`;
}
