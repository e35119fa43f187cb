/** Settings of a stage. Invalid settings end the process with exit code 1 and one line on standard error. */
import { existsSync, readFileSync } from 'node:fs'
import { checkSettings } from '../lib/settings/setting-checks.ts'
import { type Settings, settingsOf } from '../lib/settings/settings.ts'
import { errorMessageOf, printError } from './output.ts'

const usualFile = (stage: string): string => `.fhir/${stage}.settings.json`

/**
 * Returns the settings of a stage. `path`: settings file; without it .fhir/STAGE.settings.json, which may be missing. Ends the process if
 * the settings are invalid.
 */
export function settingsOfStage(stage: string, path?: string): Settings {
  const file = path ?? (existsSync(usualFile(stage)) ? usualFile(stage) : undefined)
  try {
    return file === undefined ? settingsOf({ stage }) : settingsIn(file, stage)
  } catch (error) {
    printError(`${file === undefined ? '' : `${file}: `}${errorMessageOf(error)}\n`)
    process.exit(1)
  }
}

/** Whether .fhir/STAGE.settings.json names the setting, whatever its value. */
export const hasSetting = (stage: string, name: keyof Settings): boolean =>
  existsSync(usualFile(stage)) && Object.hasOwn(JSON.parse(readFileSync(usualFile(stage), 'utf8')), name)

function settingsIn(file: string, stage: string): Settings {
  const settings = JSON.parse(readFileSync(file, 'utf8'))
  checkSettings(settings)
  if (settings.stage !== undefined && settings.stage !== stage)
    throw new RangeError(`"stage" is "${settings.stage}", but the command selects "${stage}"`)
  return settingsOf({ ...settings, stage })
}
