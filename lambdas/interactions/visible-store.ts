/** The resources of the store as a request may see them: what its access hides is as if it were not there. */
import type { Access } from '../access/access.ts'
import { type Judge, maySeeWithLetters } from '../access/judge.ts'
import { isWholeType } from '../access/rules.ts'
import type { Letter } from '../access/scopes.ts'
import { resourceTypes } from '../fhir/resource-types.ts'
import type { ExpressionRunner } from '../ports/execution/expression-runner.ts'
import type { ResourceKey, ResourceReader, ResourceVersion } from '../ports/store/resource-store.ts'
import type { SearchContext } from '../search/search-context.ts'
import { forbidden } from './forbidden.ts'

/** Who looks. */
export type CallerAccess = { readonly access: Access; readonly reading: SearchContext }

export type VisibleStore = Pick<ResourceReader, 'current' | 'versions'> & {
  /** Of a resource: the versions that may be seen. FhirError 403 for more than one resource where not all of each type may be seen. */
  readonly history: ResourceReader['history']
}

/** What may be seen under each of the letters. */
export type VisibleStoreOf = (request: CallerAccess, ...letters: readonly Letter[]) => VisibleStore

export const visibleStoreOf =
  (resources: Pick<ResourceReader, 'current' | 'versions' | 'history'>, expressions: () => ExpressionRunner): VisibleStoreOf =>
  ({ access, reading }, ...letters) => {
    const current = async (key: ResourceKey) => (await resources.current([key]))[0]
    const eye: Eye = { judge: { access, reading, expressions, current }, letters, resources }
    return {
      current: async (...asked) => shown(eye, await resources.current(...asked)),
      versions: async (...asked) => shown(eye, await resources.versions(...asked)),
      history: (scope, window, after, limit) => {
        const types = scope.type === undefined ? resourceTypes : [scope.type]
        const isWhole = (type: string): boolean => letters.every((letter) => isWholeType(access, type, letter, reading))
        if (types.every(isWhole)) return resources.history(scope, window, after, limit)
        if (scope.id !== undefined) return historyOf(eye, scope, window, after, limit)
        throw forbidden('A history of more than one resource is for those who may see all of it')
      },
    }
  }

type Eye = { readonly judge: Judge; readonly letters: readonly Letter[]; readonly resources: Pick<ResourceReader, 'history'> }

async function shown(eye: Eye, versions: readonly (ResourceVersion | undefined)[]): Promise<readonly (ResourceVersion | undefined)[]> {
  const judged = versions.map((version) => version !== undefined && maySeeWithLetters(eye.judge, eye.letters, version))
  const may = judged.some((each) => each instanceof Promise) ? await Promise.all(judged) : judged
  return may.every(Boolean) ? versions : versions.map((version, i) => (may[i] ? version : undefined))
}

/** Versions read at once: how many there are of what is hidden is not told by how long most resources take. */
const FEWEST = 100
/** Bytes after which a page ends early, as those of stores do. */
const HEAVIEST_HISTORY = 16_000_000

/** A page of what may be seen; pages of the store are read until there is one more. What they hold decides. */
async function historyOf(
  eye: Eye,
  ...[scope, window, after, limit]: Parameters<ResourceReader['history']>
): ReturnType<ResourceReader['history']> {
  const versions: ResourceVersion[] = []
  let weight = 0
  for (let from = after; ; ) {
    const page = await eye.resources.history(scope, { ...window, placesOnly: false }, from, Math.max(limit, FEWEST))
    const seen = (await shown(eye, page.versions)).filter((version) => version !== undefined)
    versions.push(...seen)
    from = page.versions.at(-1)
    if (versions.length > limit) return { ...page, versions: versions.slice(0, limit), more: true }
    weight += seen.reduce((sum, { body }) => sum + body.length, 0)
    if (page.more && weight > HEAVIEST_HISTORY) return { ...page, versions }
    if (!page.more) return { ...page, versions, more: false }
  }
}
