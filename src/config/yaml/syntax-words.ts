import type { YAMLError } from 'yaml';

export type ErrorCode = YAMLError['code'];

/** Messages for the parser's errors. Its own messages quote the text around the error, which may be a secret. */
export const SYNTAX_WORDS: Readonly<Record<ErrorCode, string>> = {
  ALIAS_PROPS: 'expected an alias (*name) alone, got one with an anchor or a tag',
  BAD_ALIAS:
    'expected an alias (*name) of an anchor (&name) that stands before it; a text that starts with * needs quotes',
  BAD_COLLECTION_TYPE: 'expected a mapping or list without a tag',
  BAD_DIRECTIVE: 'expected a YAML directive, or a text in quotes: a line must not start with %',
  BAD_DQ_ESCAPE:
    'expected a valid escape after the backslash: in double quotes write \\\\ for a backslash, or use single quotes',
  BAD_INDENT: 'expected the keys of a mapping and the items of a list to start in the same column',
  BAD_PROP_ORDER: 'expected anchors and tags directly before their value',
  BAD_SCALAR_START: 'expected a text in quotes: a plain text cannot start with this character',
  BLOCK_AS_IMPLICIT_KEY: 'expected a value on the next line or in quotes, got a second "key:" in one line',
  BLOCK_IN_FLOW:
    'expected a value in [ ] or { } style, got a list or mapping over several lines inside of brackets',
  DUPLICATE_KEY: 'expected each key once',
  IMPOSSIBLE: 'expected YAML, got something that cannot be read as such',
  KEY_OVER_1024_CHARS: 'expected a key of at most 1024 characters',
  MISSING_CHAR: 'expected a closing quote, bracket, comma, or a space after ":" here',
  MULTILINE_IMPLICIT_KEY: 'expected a key in one line: is a ":" or a quote missing?',
  MULTIPLE_ANCHORS: 'expected at most one anchor',
  MULTIPLE_DOCS: 'expected one document in the file, got a second one (---)',
  MULTIPLE_TAGS: 'expected no tag, got several',
  NON_STRING_KEY: 'expected a plain key, got a list, mapping or alias',
  RESOURCE_EXHAUSTION: 'expected a simpler document, got one that is nested or aliased beyond all bounds',
  TAB_AS_INDENT: 'expected spaces for indentation, got a tab',
  TAG_RESOLVE_FAILED: 'expected no tag (!name), got one; a text that starts with ! needs quotes',
  UNEXPECTED_TOKEN: 'expected a key, a list item or the end here: check quotes, brackets and indentation',
};
