/** Answers of the running server to commands of the operator. */
import type { MemberData } from '../../partners/member-data.ts'
import { findMemberPlans } from '../../partners/usage/member-plans.ts'
import type { Clock } from '../../ports/execution/clock.ts'
import { ALWAYS_TRUE } from '../../ports/search/plan.ts'
import type { StoredTenants } from '../../ports/store/tenants.ts'
import type { PlansOf } from '../control/member-plans.ts'
import {
  definitionsWithCanonicalOf,
  type EffectiveParts,
  type PackageEffects,
  type PackageEffectsOf,
  parametersWithCodeOf,
  type StoredDefinitions,
  type TenantDefinition,
} from '../control/package-effects.ts'
import { buildStatesIn, type ParameterStates } from '../control/parameter-states.ts'
import type { WithPackages } from './package-parameters.ts'
import type { Stores } from './stores.ts'

export type CommandAnswers = {
  readonly plansOf: PlansOf
  readonly parameterStates: () => Promise<ParameterStates['states']>
  readonly packageEffects: PackageEffectsOf
}

type AnswerParts = Pick<MemberData, 'heads'> &
  Pick<Stores, 'definitions'> &
  Pick<StoredDefinitions, 'canonicals'> & {
    readonly store: StoredTenants & StoredDefinitions['resources']
    readonly latest: () => MemberData['index']
    readonly readingOf: (tenant: string) => Promise<MemberData['reading']>
    readonly clock: Pick<Clock, 'now'>
    readonly withPackages: WithPackages
  }

export const commandAnswersOf = (parts: AnswerParts): CommandAnswers => {
  const { heads, latest, readingOf, clock, definitions, withPackages } = parts
  return {
    plansOf: async (tenant, patients) =>
      findMemberPlans({ tenant, heads, index: latest(), reading: await readingOf(tenant) }, patients, clock.now()),
    parameterStates: () => withPackages(() => definitions.whenKnown(async () => buildStatesIn(definitions.now())), true),
    packageEffects: (asked) => definitions.whenKnown(() => packageEffectsIn(parts, asked)),
  }
}

async function packageEffectsIn({ definitions, canonicals, store, latest }: AnswerParts, asked: EffectiveParts): Promise<PackageEffects> {
  const documents: Record<string, number> = Object.fromEntries(asked.types.map((type) => [type, 0]))
  const found: TenantDefinition[] = [...parametersWithCodeOf(definitions.now().definitions, asked)]
  for await (const tenant of store.tenants()) {
    for (const type of asked.types) {
      const plan = { tenant, types: [type], where: ALWAYS_TRUE, access: 'everything', order: [], limit: 0, total: 'accurate' } as const
      documents[type]! += (await latest().find(plan)).total ?? 0
    }
    for await (const each of definitionsWithCanonicalOf({ canonicals, resources: store }, tenant, asked)) found.push(each)
  }
  return { documents, definitions: found }
}
