/** How this server reads texts, before anybody defined a parameter. */
import type { Bases } from '../fhir/references.ts'
import type { Reading } from '../search/search-context.ts'
import type { Config } from './config.ts'

export const readingOf = ({ timeZone, referentialIntegrity }: Config, bases: Bases): Reading => ({
  ...bases,
  ...(timeZone === 'UTC' ? {} : { timeZone }),
  ...(referentialIntegrity ? { allReferences: true } : {}),
})
