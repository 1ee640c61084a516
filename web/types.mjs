// Writes the shapes of the REST API as TypeScript, from its OpenAPI description:
//
//     node types.mjs FROM.json TO.ts
//     takt openapi | node types.mjs /dev/stdin /dev/stdout
//
// The build does it. A file that says the same already is left alone.
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';

const [from, to] = process.argv.slice(2);
if (!from || !to || !existsSync(from)) {
    const why =
        from && to ? `there is no ${from}: build takt first (./dev build)` : 'usage: types.mjs FROM TO';
    process.stderr.write(`${why}\n`);
    process.exit(2);
}
const { components } = JSON.parse(readFileSync(from, 'utf8'));

// Schemas that only requests have and that the console does not send are left out.
const unused = ['Bulk', 'Callback', 'ExecutorLoad', 'ExecutorNews', 'OpenApi', 'Registration'];

const lineMax = 110; // As prettier.config.mjs has it.
const indent = (depth) => '    '.repeat(depth);
const nameOf = (name) => (/^[A-Za-z_]\w*$/.test(name) ? name : `'${name}'`);
const quote = (value) => (typeof value === 'string' ? `'${value}'` : JSON.stringify(value));

function union(types) {
    return [...new Set(types)].join(' | ');
}

// As prettier writes it: a choice that does not fit on its line stands below, if need be one a line.
function property(key, type, depth) {
    const line = `${key} ${type};\n`;
    if (line.split('\n', 1)[0].length <= lineMax || type.includes('{')) return line;
    const below = `${indent(depth)}${type};`;
    if (below.length <= lineMax) return `${key}\n${below}\n`;
    const choices = type.split(' | ').map((choice) => `${indent(depth)}| ${choice}`);
    return `${key}\n${choices.join('\n')};\n`;
}

function objectType(schema, depth) {
    const required = new Set(schema.required ?? []);
    const members = Object.entries(schema.properties ?? {});
    if (members.length === 0) {
        const values = schema.additionalProperties;
        return values ? `Record<string, ${typeOf(values, depth)}>` : 'Record<string, never>';
    }
    const lines = members.map(([name, member]) => {
        const key = `${indent(depth + 1)}${nameOf(name)}${required.has(name) ? '' : '?'}:`;
        return property(key, typeOf(member, depth + 1), depth + 2);
    });
    return `{\n${lines.join('')}${indent(depth)}}`;
}

function ofType(type, schema, depth) {
    switch (type) {
        case 'integer':
            return 'number';
        case 'array': {
            const item = typeOf(schema.items ?? {}, depth);
            return /[ |]/.test(item) && !item.startsWith('{') ? `(${item})[]` : `${item}[]`;
        }
        case 'object':
            return objectType(schema, depth);
        default:
            return type; // string, number, boolean, null
    }
}

function typeOf(schema, depth = 0) {
    if (schema.$ref) return schema.$ref.split('/').at(-1);
    if (schema.enum) return union(schema.enum.map(quote));
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices) return union(choices.map((choice) => typeOf(choice, depth)));
    if (Array.isArray(schema.type)) {
        return union(schema.type.map((type) => ofType(type, schema, depth)));
    }
    if (schema.type) return ofType(schema.type, schema, depth);
    // Any JSON: kept letter by letter, see json.ts.
    return 'JsonText | null';
}

let out = `// The shapes of the REST API. Made by the build, by web/types.mjs.\n`;
out += `import type { JsonText } from './json';\n`;
for (const [name, schema] of Object.entries(components.schemas)) {
    if (unused.includes(name)) continue;
    const type = typeOf(schema);
    out += type.startsWith('{')
        ? `\nexport interface ${name} ${type}\n`
        : `\nexport type ${name} = ${type};\n`;
}
const same = existsSync(to) && statSync(to).isFile() && readFileSync(to, 'utf8') === out;
if (!same) writeFileSync(to, out);
