// As the sources are written: 110 columns, four spaces, single quotes.
export default { printWidth: 110, tabWidth: 4, singleQuote: true };
