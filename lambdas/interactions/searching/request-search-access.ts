/** Who searches by a request. */
import type { Letter } from '../../access/scopes.ts'
import { createSearchAccess, type SearchCaller } from '../../access/search-access.ts'
import type { SearchAccess } from '../../search/query/condition.ts'
import { insufficientScope } from '../forbidden.ts'

/** `letters`: under all of which one finds. */
export const searchAccessOf = (request: SearchCaller, letters: readonly Letter[] = ['s']): SearchAccess =>
  createSearchAccess(request, (type) => insufficientScope(request.access, type, letters.join('')), letters)
