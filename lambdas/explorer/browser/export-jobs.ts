/** Jobs in the answer of `GET [base]/export`. */
import type { Answer } from './http.ts'
import { isTree, textOf, treesOf } from './json.ts'

/** Job of the list. Instants are texts of FHIR. `isOwn`: whether the person may request its files and cancel it. */
export type ExportJob = {
  readonly id: string
  readonly state: string
  readonly start: string
  readonly end: string
  readonly progress: string
  readonly reason: string
  readonly request: string
  readonly client: string
  readonly schedule: string
  readonly isOwn: boolean
}

export function jobsOf({ body }: Answer): readonly ExportJob[] {
  return treesOf(isTree(body) ? body.parameter : undefined).map(({ part }) => {
    const values = new Map(treesOf(part).map((each) => [each.name, each]))
    const partOf = (name: string, form: string) => textOf(values.get(name)?.[form]) ?? ''
    return {
      id: partOf('id', 'valueId'),
      state: partOf('state', 'valueCode'),
      start: partOf('start', 'valueInstant'),
      end: partOf('end', 'valueInstant'),
      progress: partOf('progress', 'valueString'),
      reason: partOf('reason', 'valueString'),
      request: partOf('request', 'valueUrl'),
      client: partOf('client', 'valueString'),
      schedule: partOf('schedule', 'valueString'),
      isOwn: partOf('own', 'valueBoolean') === 'true',
    }
  })
}
