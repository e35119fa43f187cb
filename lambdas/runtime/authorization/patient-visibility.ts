/** Checks whether a token may read a stored Patient. */
import { maySee } from '../../access/judge.ts'
import { accessOfToken } from '../../access/token-access.ts'
import type { AuthPorts } from '../../auth/endpoint.ts'
import { isId } from '../../fhir/resource.ts'
import type { PersonParts } from './person-patients.ts'

/**
 * Returns the check. A scope with a condition on a custom parameter does not admit a Patient here: the functions that use this check
 * evaluate no custom expressions.
 */
export const patientVisibility =
  ({ resources, reading: readingOf }: Pick<PersonParts, 'resources' | 'reading'>): AuthPorts['mayReadPatient'] =>
  async (token, id) => {
    if (!isId(id)) return false
    const { custom: _, ...reading } = readingOf(token.tenant)
    const [head] = await resources.current([{ tenant: token.tenant, type: 'Patient', id }])
    if (head === undefined || head.deleted) return false
    const access = accessOfToken(token, reading)
    return maySee({ access, reading, expressions: refuseExpressions, current: async () => undefined }, 'r', head)
  }

const refuseExpressions = (): never => {
  throw new Error('Custom expressions are not evaluated here')
}
