/** `fhir user`: administers the user accounts. */
import { Command } from 'commander'
import { addUser, changePassword, removeUser, toUser } from '../../lambdas/runtime/control/administration.ts'
import { print, warn } from '../output.ts'
import { readPassword } from '../typed-line.ts'
import {
  collectOption,
  formatTable,
  jsonOption,
  type ServerLocationOptions,
  warnAboutTenants,
  withAdministration,
  withLocationOptions,
} from './administration.ts'
import { withExamples } from './options.ts'

type Added = ServerLocationOptions & { readonly scope?: readonly string[]; readonly tenant?: readonly string[]; readonly fhirUser?: string }

const add = new Command('add')
  .description('add a user; asks for the password (at least 8 characters), or reads it from a pipe')
  .argument('<name>', 'user name at login, in capitals or not: letters, digits, ".", "_", "@", "+" and "-"')
  .option('--scope <scopes>', 'maximum scopes of the user\'s tokens, as "user/*.rs"; repeatable, or separated by spaces', collectOption)
  .option('--tenant <name>', 'tenant of the user, * for all; repeatable (default: "default")', collectOption)
  .option(
    '--fhir-user <key>',
    'resource of the user: Practitioner/1 or PractitionerRole/1 sees what the scopes open; Patient/1 the own record; RelatedPerson/1 the patients in its care; Person/1, or no resource, sees nothing',
  )
  .action(async (name: string, { scope = [], tenant = ['default'], fhirUser, ...server }: Added) => {
    const request = { name, scopes: scope, tenants: tenant, ...(fhirUser === undefined ? {} : { fhirUser }) }
    // Check the request before the prompt for the password.
    toUser(request, { subject: '', password: '', changedAt: 0 })
    const password = await readPassword(`Password of ${name}`)
    const user = await withAdministration(server, (ports) => addUser(ports, request, password), true)
    print(`The user ${user.name} is added\n`)
    await warnAboutTenants(server, user.name, user.tenants)
    if (fhirUser === undefined || fhirUser.startsWith('Person/'))
      warn(`tokens of ${user.name} give access to nothing: name the resource of the user with --fhir-user, as Practitioner/1`)
  })

const list = new Command('list')
  .description('list the users')
  .addOption(jsonOption('one user a line,'))
  .action(async (options: ServerLocationOptions & { readonly json?: boolean }) => {
    const users = await withAdministration(options, ({ users }) => users.list())
    const output = users.map(({ name, subject, fhirUser = '', tenants, scopes }) => ({ name, subject, fhirUser, tenants, scopes }))
    if (options.json) return print(output.map((user) => `${JSON.stringify(user)}\n`).join(''))
    if (users.length === 0) return print('There are no users\n')
    const rows = output.map(({ name, fhirUser, tenants, scopes }) => [name, fhirUser, tenants.join(' '), scopes.join(' ')])
    print(formatTable([['NAME', 'IS', 'TENANTS', 'SCOPES'], ...rows]))
  })

const password = new Command('password')
  .description("change a user's password, typed or read from a pipe; revokes the user's tokens")
  .argument('<name>', 'of the user')
  .action(async (name: string, options: ServerLocationOptions) => {
    await withAdministration(options, async (ports) => {
      if ((await ports.users.get(name.toLowerCase())) === undefined) throw new Error(`There is no user ${name}`)
      await changePassword(ports, name, await readPassword(`New password of ${name}`))
    })
    print(`The password of ${name} is changed; tokens issued before are revoked\n`)
  })

const remove = new Command('remove')
  .description("remove a user; revokes the user's tokens")
  .argument('<name>', 'of the user')
  .action(async (name: string, options: ServerLocationOptions) => {
    await withAdministration(options, (ports) => removeUser(ports, name))
    print(`The user ${name} is removed. The tokens of ${name} are rejected within three seconds\n`)
  })

export const userCommand = new Command('user')
  .description('add, list, change and remove user accounts')
  .addCommand(withExamples(withLocationOptions(add), ["npm run -s fhir -- user add jane --scope 'user/*.rs' --fhir-user Practitioner/1"]))
  .addCommand(withExamples(withLocationOptions(list), ['npm run -s fhir -- user list --json']))
  .addCommand(withExamples(withLocationOptions(password), ['npm run -s fhir -- user password jane']))
  .addCommand(withExamples(withLocationOptions(remove), ['npm run -s fhir -- user remove jane']))
