/** The setting exportAdditionalResources, as somebody gives it. Specification 2.8 */
import { readFileSync } from 'node:fs'
import type { AdditionalResources } from '../export/additional-resources.ts'
import { variableOf } from './config.ts'

/** `setting`: a file, or the JSON itself; what is read is checked. undefined: the default. RangeError that names the place. */
export async function additionalResourcesOf(setting: string): Promise<AdditionalResources | undefined> {
  if (setting === '') return undefined
  const name = variableOf('exportAdditionalResources')
  // Who exports by the default needs nothing of it to start.
  const { parseAdditionalResources } = await import('../export/additional-resources.ts')
  return parseAdditionalResources(parsed(setting.startsWith('{') ? setting : textOf(setting, name), name), name)
}

function textOf(file: string, name: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new RangeError(`${name}: ${file} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
}

function parsed(text: string, name: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new RangeError(`${name} is no JSON`)
  }
}
