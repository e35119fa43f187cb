/** Who searches by a request. */
import { type Searching, searcherUnder } from '../access/searcher.ts'
import type { Searcher } from '../search/condition.ts'
import { outOfScope } from './forbidden.ts'

export const searcherOf = (request: Searching): Searcher => searcherUnder(request, (type) => outOfScope(request.access, type, 's'))
