/**
 * Reports why a stage cannot be deployed into the account, and advice, one line each, and changes nothing. `npm run deploy` begins
 * with it.
 */
import { App } from 'aws-cdk-lib'
import { findDeployProblems, isAdvice } from '../lib/deploy/deploy-check.ts'
import type { StackTemplate } from '../lib/deploy/replacement-check.ts'
import { DEFAULT_SETTINGS } from '../lib/settings/settings.ts'
import { DataStack } from '../lib/stacks/data-stack.ts'
import { FEATURE_FLAGS } from '../lib/stacks/flags.ts'
import { print, printError } from './output.ts'
import { hasSetting, settingsOfStage } from './stage-settings.ts'

const stage = process.argv[2] ?? DEFAULT_SETTINGS.stage
const settings = settingsOfStage(stage)
const app = new App({ context: FEATURE_FLAGS })
const data = new DataStack(app, `fhir-${settings.stage}-data`, settings)
const template: StackTemplate = app.synth().getStackByName(data.stackName).template

const lines = await findDeployProblems({ settings, namesAccess: hasSetting(stage, 'access'), template })
const problems = lines.filter((line) => !isAdvice(line))
for (const line of lines) printError(`${line}\n`)
if (problems.length === 0) print(`The stage ${stage} can be deployed in ${settings.region}, as far as its account tells\n`)
// Without credentials there is only this line.
else if (!problems[0]!.startsWith('Account:')) printError('Nothing is deployed. To deploy nevertheless: npm run deploy:unchecked\n')
process.exitCode = problems.length === 0 ? 0 : 1
