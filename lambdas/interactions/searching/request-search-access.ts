import type { Letter } from '../../access/scopes.ts'
import { createSearchAccess, type SearchCaller } from '../../access/search-access.ts'
import type { SearchAccess } from '../../search/query/condition.ts'
import { insufficientScope } from '../forbidden.ts'

/**
 * Returns the search access of the caller. `letters`: scope letters; searches find a resource only if the access allows it for each of
 * them. Its methods throw FhirError 403 for a type out of scope.
 */
export const searchAccessOf = (request: SearchCaller, letters: readonly Letter[] = ['s']): SearchAccess =>
  createSearchAccess(request, (type) => insufficientScope(request.access, type, letters.join('')), letters)
