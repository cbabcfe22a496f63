// Draws the figures that stand beside this script as JSON. Nothing here asks for anything from elsewhere.
(() => {
  "use strict";
  const config = { displayModeBar: false, displaylogo: false, responsive: true, scrollZoom: false, doubleClick: false };
  const waiting = [...document.querySelectorAll("[data-figure]")];

  const draw = (chart) => {
    const figure = JSON.parse(document.getElementById(chart.dataset.figure).textContent);
    Plotly.newPlot(chart, figure.data, figure.layout, config);
  };

  // a few at a time, so that a page of many benchmarks can be read at once
  const some = () => {
    const until = performance.now() + 40;
    do {
      const chart = waiting.shift();
      if (!chart) return;
      draw(chart);
    } while (performance.now() < until);
    setTimeout(some);
  };
  some();

  // what is printed is all that there is, in the width of the paper
  let opened = [];
  addEventListener("beforeprint", () => {
    while (waiting.length) draw(waiting.shift());
    opened = [...document.querySelectorAll("details:not([open]):not([data-long])")];
    for (const details of opened) details.open = true;
    for (const chart of document.querySelectorAll("[data-figure]")) Plotly.relayout(chart, { width: 660 });
  });
  addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
    for (const chart of document.querySelectorAll("[data-figure]")) Plotly.relayout(chart, { width: null, autosize: true });
  });
})();
