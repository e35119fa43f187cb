/** Parses the setting exportAdditionalResources. Section 2.8 of the service's specification. */
import { readFileSync } from 'node:fs'
import { type AdditionalResources, DEFAULT_ADDITIONAL_RESOURCES, parseAdditionalResources } from '../export/additional-resources.ts'
import { variableOf } from './config.ts'

/**
 * Returns the validated rules. `setting`: path of a JSON file, the JSON itself, or empty for the default rules. Throws a RangeError that
 * names the setting and the invalid location.
 */
export function additionalResourcesOf(setting: string): AdditionalResources {
  if (setting === '') return DEFAULT_ADDITIONAL_RESOURCES
  const name = variableOf('exportAdditionalResources')
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
