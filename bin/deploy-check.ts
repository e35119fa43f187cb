/**
 * Reports why a stage cannot be deployed into the account, advice, and the quotas that it needs, one line each, and changes nothing.
 * `npm run deploy` begins with it.
 */
import { App } from 'aws-cdk-lib'
import { findDeployProblems, isAdvice } from '../lib/deploy/deploy-check.ts'
import { compareQuotas } from '../lib/deploy/quota-check.ts'
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
// Without credentials there is only this line, and no quota can be read.
const hasAccount = !problems.some((line) => line.startsWith('Account:'))
if (hasAccount) for (const line of await compareQuotas(settings)) print(`${line}\n`)
for (const line of lines) printError(`${line}\n`)
if (problems.length === 0) print(`The stage ${stage} can be deployed in ${settings.region}, as far as its account tells\n`)
else if (hasAccount) printError('Nothing is deployed. To deploy nevertheless: npm run deploy:unchecked\n')
process.exitCode = problems.length === 0 ? 0 : 1
