/** HAPI's validator judges the cases again and agrees with the committed verdicts. The cases of US Core are also generated again. */
import { existsSync } from 'node:fs'
import { expect, it } from '@jest/globals'
import { missingJavaReason } from '../engines/java.ts'
import { read, readProfiled, resourceOf, SIDES, title } from './cases.ts'
import { runHapi } from './hapi.ts'
import { judgedByUsCore, usCoreCases } from './us-core-cases.ts'

const committed = read('base')
const reason = missingJavaReason()
if (reason !== undefined) process.stderr.write(`HAPI's validator does not judge the cases again: ${reason}\n`)

const judging = reason === undefined ? it : it.skip

judging(
  `the judge gives the same verdicts again${reason === undefined ? '' : `: ${reason}`}`,
  async () => {
    const rows = committed.cases.flatMap((each) => SIDES.map((side) => ({ each, side })))
    const asked = [
      ...[...committed.seeds.values()].map((resource) => ({ text: JSON.stringify(resource) })),
      ...rows.map(({ each, side }) => ({ text: JSON.stringify(resourceOf(committed.seeds, each, side)) })),
    ]
    const verdicts = await runHapi(asked, { folder: '.', names: [] })
    expect(verdicts.slice(0, committed.seeds.size).flat()).toEqual([])
    const differing = rows.filter(({ each, side }, i) => String(each.verdicts[side]) !== String(verdicts[committed.seeds.size + i]))
    expect(differing.map(({ each, side }) => `${side} ${title(each)}`)).toEqual([])
  },
  600_000,
)

/** HL7 publishes the package at https://hl7.org/fhir/us/core/STU6.1/package.tgz; no registry of npm has it. */
const archive = process.env.FHIR_US_CORE_PACKAGE ?? '../shared/data/us-core-6.1.0.tgz'
const noPackage = existsSync(archive) ? undefined : 'FHIR_US_CORE_PACKAGE names no archive of US Core 6.1.0'
if (noPackage !== undefined) process.stderr.write(`The cases of US Core are not generated again: ${noPackage}\n`)

const generating = noPackage === undefined ? it : it.skip

generating(
  `the cases of US Core can be generated again${noPackage === undefined ? '' : `: ${noPackage}`}`,
  async () => {
    const made = JSON.parse(JSON.stringify(await usCoreCases(archive)))
    expect(readProfiled('us-core').map(({ verdicts: _, ...each }) => each)).toEqual(made)
    if (reason === undefined) expect(await judgedByUsCore(made, archive)).toEqual(readProfiled('us-core'))
  },
  600_000,
)
