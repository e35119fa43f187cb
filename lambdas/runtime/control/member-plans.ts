/** Operator command that reads the plans of members. The running server reads its stored Coverages. */
import type { CommandHandler } from '../../adapters/filesystem/command-socket.ts'
import type { MemberPlans } from '../../partners/usage/member-plans.ts'
import { noServerMessage, queryServerAt, type ServerLocation } from './server-socket.ts'

/** Returns the plans of patients of a tenant. */
export type PlansOf = (tenant: string, patients: readonly string[]) => Promise<MemberPlans>

type Request = { readonly tenant: string; readonly patients: readonly string[] }

/** Maximum patients of one command. */
const PATIENTS = 1_000

/** Returns a function that requests plans from the server. It throws an Error if no server runs or the server refuses. */
export const plansAt =
  (place: ServerLocation): PlansOf =>
  async (tenant, patients) => {
    const plans = new Map<string, readonly string[]>()
    for (let first = 0; first < patients.length; first += PATIENTS) {
      const request: Request = { tenant, patients: patients.slice(first, first + PATIENTS) }
      const answer = await queryServerAt(place, 'plans', JSON.stringify(request))
      if (answer === undefined)
        throw new Error(`${noServerMessage(place)}. Start it, because only a running server reads the plans of members`)
      for (const [patient, own] of JSON.parse(answer) as readonly [string, readonly string[]][]) plans.set(patient, own)
    }
    return plans
  }

/** Returns the server's handler for the command `plans`. */
export const planCommands = (plansOf: PlansOf): Readonly<Record<'plans', CommandHandler>> => ({
  async plans(argument) {
    const { tenant, patients } = JSON.parse(argument) as Request
    return JSON.stringify([...(await plansOf(tenant, patients))])
  },
})
