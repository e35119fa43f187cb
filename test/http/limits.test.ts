/** The limits that lambdas/docs/limits.md states are those of the code. The tests of each limit check that it applies. */
import { readFileSync } from 'node:fs'
import { expect, it } from '@jest/globals'

const limits = /## Limits\n([\s\S]*)$/.exec(readFileSync('lambdas/docs/limits.md', 'utf8'))![1]!

it.each<[told: string, file: string, constant: string]>([
  ['form of a search | 2 MB,', 'http/steps/parse-form', 'LONGEST = 2_000_000'],
  ['2 MB, 10,000 parameters | 413', 'search/query/parameter-pairs', 'MAX_SEARCH_PARAMETERS = 10_000'],
  ['search | 10,000 values', 'search/query/query-budget', 'MAX_VALUES = 10_000'],
  ['200 criteria', 'search/query/query', 'MAX_CRITERIA = 200'],
  ['50 includes', 'search/query/query', 'MAX_INCLUDES = 50'],
  ['10 sort keys', 'search/query/query', 'MAX_SORT_KEYS = 10'],
  ['20 criteria, 2 sort keys, 4,000', 'interactions/searching/public-search', 'PUBLIC_CRITERIA = 20'],
  ['2 sort keys', 'interactions/searching/public-search', 'PUBLIC_SORT_KEYS = 2'],
  ['`_count` 100', 'interactions/searching/public-search', 'PUBLIC_COUNT = 100'],
  ['2 seconds |', 'interactions/searching/public-search', 'PUBLIC_BUDGET = 2_000'],
  ['4 links of a chain', 'search/query/criterion', 'MAX_DEPTH = 4'],
  ['an offset of 10,000', 'search/query/query', 'MAX_SKIP = 10_000'],
  ['200 names in `_elements`', 'search/query/response-part', 'MAX_ELEMENTS = 200'],
  ['65,536 resources between two parts', 'search/query/condition', 'MAX_MATCHES_PER_STAGE = 65_536'],
  ['four times as many in a search', 'search/query/condition', 'MAX_MATCHES_IN_TOTAL = 4 * MAX_MATCHES_PER_STAGE'],
  ['in a search; 20 seconds', 'search/query/condition', 'LONGEST = 20_000'],
  ['`_count` 1,000', 'search/query/page-size', 'LARGEST = 1_000'],
  ['4.5 MB with included resources', 'interactions/searching/page-limits', 'MAX_PAGE_BYTES = 4_500_000'],
  ['10,000 included resources', 'interactions/searching/page-weight', 'MOST_WITH_ONE = 10_000'],
  ['parameters of your own | 200 on a type', 'search/custom/custom-parameter-limits', 'MAX_PER_TYPE = 200'],
  ['3,000 index fields on a type', 'search/custom/custom-parameter-limits', 'MAX_CUSTOM_FIELDS = 3_000'],
  ['20,000 parameters on all types together', 'search/custom/custom-parameter-limits', 'MAX_IN_TOTAL = 20_000'],
  ['5,000 on all types together', 'search/custom/custom-parameter-limits', 'MAX_DEFINED = 5_000'],
  ['`_pretty` | 5 MB', 'http/steps/write-response', 'LONGEST_PRETTY = 5_000_000'],
  ['50 MB of current versions', 'interactions/writing/transaction-heads', 'MOST_HELD = 50_000_000'],
  ['50 MB of answers', 'interactions/bundle/entry-responses', 'MAX_BUNDLE_RESPONSE_BYTES = 50_000_000'],
  ['50 MB of answers: further writes are made', 'interactions/bundle/entry-responses', 'MAX_BUNDLE_RESPONSE_BYTES = 50_000_000'],
  ['or 20 seconds', 'interactions/bundle/entry-responses', 'LONGEST = 20_000'],
  ['no entry begins in the last 4', 'runtime/aws/deadlines', 'FOR_ENTRY = 4_000'],
  ['an `identifier` with at most 20 values', 'search/documents/identifiers', 'MAX_IDENTIFIERS = 20'],
  ['More than 1,000 resources of the type', 'interactions/consistency/identifier-index', 'MAX_ROWS = 1_000'],
  ['64 levels of JSON', 'fhir/json', 'MAX_JSON_DEPTH = 64'],
  ['20 MB as it is stored', 'interactions/writing/next-version', 'LARGEST_BODY = 20_000_000'],
  ['100 ms of processor time, 40 more', 'interactions/rest/patch', 'LONGEST = { patch: 100, megabyte: 40 }'],
  ['URL and headers | 512 kB', 'http/node-server', 'LONGEST_HEAD = 512 * 1024'],
  ['responses of 1,400 bytes or more', 'http/response-compression', 'MIN_GZIP_BYTES = 1_400'],
  ['128 MB of bodies are compressed at once', 'http/node-server', 'MOST_COMPRESSING = 128_000_000'],
  ['256 MB that clients have not read', 'http/node-server', 'MOST_ANSWERS = 256_000_000'],
  ['connections | 4,000', 'http/node-server', 'MOST_CONNECTIONS = 4_000'],
  ['64 MB of heads', 'http/node-server', 'MOST_HEADS = 64_000_000'],
  ['100 parts of a path', 'http/route-table', 'MOST_PARTS = 100'],
])('the documented limit "%s" is that of %s', (told, file, constant) => {
  expect(limits).toContain(told)
  expect(readFileSync(`lambdas/${file}.ts`, 'utf8')).toContain(`const ${constant}`)
})
