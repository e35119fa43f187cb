/** Answers of the running server to commands of the operator. */
import type { MemberData } from '../../partners/member-data.ts'
import { findMemberPlans } from '../../partners/usage/member-plans.ts'
import type { Clock } from '../../ports/execution/clock.ts'
import type { PlansOf } from '../control/member-plans.ts'
import { buildStatesIn, type ParameterStates } from '../control/parameter-states.ts'
import type { Stores } from './stores.ts'

export type CommandAnswers = {
  readonly plansOf: PlansOf
  readonly parameterStates: () => Promise<ParameterStates['states']>
}

/** `withPackages`: runs work once the parameters of all packages are registered. */
type AnswerParts = Pick<MemberData, 'heads'> &
  Pick<Stores, 'definitions'> & {
    readonly latest: () => MemberData['index']
    readonly readingOf: (tenant: string) => Promise<MemberData['reading']>
    readonly clock: Pick<Clock, 'now'>
    readonly withPackages: <Result>(work: () => Promise<Result>) => Promise<Result>
  }

export const commandAnswersOf = ({ heads, latest, readingOf, clock, definitions, withPackages }: AnswerParts): CommandAnswers => ({
  plansOf: async (tenant, patients) =>
    findMemberPlans({ tenant, heads, index: latest(), reading: await readingOf(tenant) }, patients, clock.now()),
  parameterStates: () => withPackages(() => definitions.whenKnown(async () => buildStatesIn(definitions.now()))),
})
