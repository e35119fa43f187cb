/** How this server reads texts, before anybody defined a parameter. */
import type { Reading } from '../search/reading.ts'
import type { Config } from './config.ts'

export const readingOf = ({ timeZone, referentialIntegrity }: Config, baseUrl: string): Reading => ({
  baseUrl,
  ...(timeZone === 'UTC' ? {} : { timeZone }),
  ...(referentialIntegrity ? { allReferences: true } : {}),
})
