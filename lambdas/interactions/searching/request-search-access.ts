/** Who searches by a request. */
import type { Letter } from '../../access/scopes.ts'
import { type Searching, searcherUnder } from '../../access/search-access.ts'
import type { Searcher } from '../../search/query/condition.ts'
import { outOfScope } from '../forbidden.ts'

/** `letters`: under all of which one finds. */
export const searcherOf = (request: Searching, letters: readonly Letter[] = ['s']): Searcher =>
  searcherUnder(request, (type) => outOfScope(request.access, type, letters.join('')), letters)
