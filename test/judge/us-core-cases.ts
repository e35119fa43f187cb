/** Cases of US Core: made of its profiles and its own examples, and judged against the package. */
import { basename, dirname } from 'node:path'
import { readDefinitionArchive } from '../../search-mappings/generate/archive.ts'
import { US_CORE_EXAMPLES } from '../fixtures/us-core/examples.ts'
import { type JudgedCase, SIDES, type Side } from './cases.ts'
import type { Tree } from './generate/definitions.ts'
import { applyPatches } from './generate/patch.ts'
import { type ProfiledCase, profiledCases, US_CORE } from './generate/us-core.ts'
import { runHapi } from './hapi.ts'

type Seed = readonly [seed: string, profile: string, resource: Tree]

/** The largest two examples of each profile, without what they say of themselves. */
export function usCoreSeeds(): readonly Seed[] {
  const all = US_CORE_EXAMPLES.flatMap((resource): readonly Seed[] => {
    const { meta, ...rest } = resource
    const profiles = ((meta as Tree | undefined)?.profile ?? []).filter((url: string) => url.startsWith(US_CORE))
    return profiles.map((url: string) => [`${resource.resourceType}/${resource.id}`, url, rest] as const)
  })
  return [...Map.groupBy(all, ([, url]) => url).values()].flatMap((list) => list.toSorted((a, b) => sizeOf(b) - sizeOf(a)).slice(0, 2))
}

const sizeOf = ([, , resource]: Seed): number => JSON.stringify(resource).length

export const exampleOf = (key: string): Tree => {
  const { meta: _, ...rest } = US_CORE_EXAMPLES.find(({ resourceType, id }) => `${resourceType}/${id}` === key)!
  return rest
}

/** `archive`: the package as HL7 published it. */
export async function usCoreCases(archive: string): Promise<readonly ProfiledCase[]> {
  const { definitions } = await readDefinitionArchive(archive)
  const profiles = definitions.filter(({ resourceType }) => resourceType === 'StructureDefinition')
  return profiledCases(profiles, usCoreSeeds())
}

export const changedExample = (each: ProfiledCase, side: Side): Tree => applyPatches(exampleOf(each.seed), each[side])

/**
 * What HAPI finds beyond what it finds in the example itself: offline it knows no value sets of VSAC, and refuses each patient that
 * has a race.
 */
export async function judgedByUsCore(cases: readonly ProfiledCase[], archive: string): Promise<readonly (JudgedCase & ProfiledCase)[]> {
  const requests = cases.flatMap((each) =>
    [exampleOf(each.seed), ...SIDES.map((side) => changedExample(each, side))].map((resource) => ({
      profile: US_CORE + each.profile,
      text: JSON.stringify(resource),
    })),
  )
  const verdicts = await runHapi(requests, { folder: dirname(archive), names: [basename(archive)] })
  return cases.map((each, i) => {
    const [first, ...both] = verdicts.slice(3 * i, 3 * i + 3)
    const [broken, neighbour] = both.map((ids) => ids.filter((id) => !first!.includes(id)))
    return { ...each, verdicts: { break: broken!, neighbour: neighbour! } }
  })
}
