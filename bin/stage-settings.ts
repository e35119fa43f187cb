/** What was set of a stage. What is wrong with it ends this process, in one line. */
import { existsSync, readFileSync } from 'node:fs'
import { checkSettings } from '../lib/settings/setting-checks.ts'
import { type Settings, settingsOf } from '../lib/settings/settings.ts'
import { errorMessageOf, printError } from './output.ts'

const usualFile = (stage: string): string => `.fhir/${stage}.settings.json`

/** `named`: the file; absent: .fhir/STAGE.settings.json, which may be missing. */
export function settingsOfStage(stage: string, named?: string): Settings {
  const file = named ?? (existsSync(usualFile(stage)) ? usualFile(stage) : undefined)
  try {
    return file === undefined ? settingsOf({ stage }) : settingsIn(file, stage)
  } catch (error) {
    printError(`${file === undefined ? '' : `${file}: `}${errorMessageOf(error)}\n`)
    process.exit(1)
  }
}

/** Returns true if .fhir/STAGE.settings.json names the setting, whatever its value. */
export const hasSetting = (stage: string, name: keyof Settings): boolean =>
  existsSync(usualFile(stage)) && Object.hasOwn(JSON.parse(readFileSync(usualFile(stage), 'utf8')), name)

function settingsIn(file: string, stage: string): Settings {
  const given = JSON.parse(readFileSync(file, 'utf8'))
  checkSettings(given)
  if (given.stage !== undefined && given.stage !== stage)
    throw new RangeError(`the stage is "${given.stage}", but "${stage}" was asked for`)
  return settingsOf({ ...given, stage })
}
