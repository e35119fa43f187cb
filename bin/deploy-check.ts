/** What an account lacks for a stage, one line each; nothing is changed. `npm run deploy:check`, before `npm run deploy`. */
import { App } from 'aws-cdk-lib'
import { lacking } from '../lib/deploy/deploy-check.ts'
import type { Template } from '../lib/deploy/replacement-check.ts'
import { DEFAULTS } from '../lib/settings/settings.ts'
import { DataStack } from '../lib/stacks/data-stack.ts'
import { FLAGS } from '../lib/stacks/flags.ts'
import { complain, say } from './output.ts'
import { namesSetting, settingsOfStage } from './stage-settings.ts'

const stage = process.argv[2] ?? DEFAULTS.stage
const settings = settingsOfStage(stage)
const app = new App({ context: FLAGS })
const data = new DataStack(app, `fhir-${settings.stage}-data`, settings)
const template: Template = app.synth().getStackByName(data.stackName).template

const lines = await lacking({ settings, namesAccess: namesSetting(stage, 'access'), template })
if (lines.length === 0) say(`The stage ${stage} can be deployed in ${settings.region}, as far as its account tells\n`)
for (const line of lines) complain(`${line}\n`)
process.exitCode = lines.length === 0 ? 0 : 1
