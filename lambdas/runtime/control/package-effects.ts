/**
 * Effects of a package on the data of a server: the documents that are indexed again, and the definitions of tenants that have a code or a
 * canonical URL of the package.
 */
import { type CommandHandler, queryServer } from '../../adapters/filesystem/command-socket.ts'
import { parseJsonBytes } from '../../fhir/json.ts'
import { ALL_TENANTS } from '../../indexing/all-tenants.ts'
import type { CustomParameter } from '../../indexing/custom-definitions.ts'
import type { Canonicals, DefinitionType } from '../../ports/definitions/canonicals.ts'
import type { ResourceReader } from '../../ports/store/resource-store.ts'
import type { CustomMapping } from '../../search/custom-mapping.ts'

/**
 * Parts of a package that may affect stored data. `types`: types whose documents are indexed again. `parameters`: search parameters that
 * the index builds.
 */
export type EffectiveParts = {
  readonly types: readonly string[]
  readonly parameters: readonly Pick<CustomMapping, 'base' | 'code' | 'field'>[]
  readonly canonicals: readonly { readonly type: DefinitionType; readonly url: string }[]
}

/** Definition of a tenant. `name`: the code, as `Basic?code`, or the canonical URL, which the package also defines. */
export type TenantDefinition = { readonly tenant: string; readonly resource: string; readonly name: string }

/** `documents`: number of documents by type, of all tenants. Absent: the deployment does not count them. */
export type PackageEffects = {
  readonly documents?: Readonly<Record<string, number>>
  readonly definitions: readonly TenantDefinition[]
}

export type PackageEffectsOf = (parts: EffectiveParts) => Promise<PackageEffects>

/** Requests the effects from the server of the folder. Returns undefined if none runs. */
export const packageEffectsAt =
  (folder: string) =>
  async (parts: EffectiveParts): Promise<PackageEffects | undefined> => {
    const answer = await queryServer(folder, 'package-effects', JSON.stringify(parts))
    return answer === undefined ? undefined : (JSON.parse(answer) as PackageEffects)
  }

/** Returns the server's handler for the command `package-effects`. */
export const packageEffectCommands = (effectsOf: PackageEffectsOf): Readonly<Record<'package-effects', CommandHandler>> => ({
  'package-effects': async (argument) => JSON.stringify(await effectsOf(JSON.parse(argument) as EffectiveParts)),
})

/** Returns the search parameters of tenants that have a code of the package on its type, with another meaning. */
export const parametersWithCodeOf = (
  definitions: readonly CustomParameter[],
  { parameters }: Pick<EffectiveParts, 'parameters'>,
): readonly TenantDefinition[] =>
  definitions.flatMap(({ tenant, id, mapping }) => {
    const isOther = ({ base, code, field }: (typeof parameters)[number]): boolean =>
      base === mapping.base && code === mapping.code && field !== mapping.field
    return tenant === ALL_TENANTS || !parameters.some(isOther)
      ? []
      : [{ tenant, resource: `SearchParameter/${id}`, name: `${mapping.base}?${mapping.code}` }]
  })

export type StoredDefinitions = { readonly canonicals: Canonicals; readonly resources: Pick<ResourceReader, 'current'> }

/** Yields the definitions of a tenant that have a canonical URL of the package. */
export async function* definitionsWithCanonicalOf(
  { canonicals, resources }: StoredDefinitions,
  tenant: string,
  parts: Pick<EffectiveParts, 'canonicals'>,
): AsyncGenerator<TenantDefinition> {
  if ((await canonicals.state(tenant)) === '') return
  for (const { type, url } of parts.canonicals)
    for await (const keys of canonicals.carrying(tenant, type, url))
      for (const version of await resources.current(keys)) {
        if (version === undefined || version.deleted) continue
        const { url: current } = parseJsonBytes(version.body) as { readonly url?: unknown }
        if (current === url) yield { tenant, resource: `${type}/${version.id}`, name: url }
      }
}
