/** What terminals do on request (ECMA-48); demo and frames draw in place with it. */
export const ESC = '\u001b[';
export const HIDE_CURSOR = `${ESC}?25l`;
export const SHOW_CURSOR = `${ESC}?25h`;
export const CLEAR_LINE = `${ESC}K`;
export const CLEAR_TO_END = `${ESC}0J`;
