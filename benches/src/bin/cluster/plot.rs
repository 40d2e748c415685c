use std::error::Error;
use std::ops::Range;

use plotters::prelude::*;

use crate::{Point, SERVER};

const COLOURS: [RGBColor; 4] =
    [RGBColor(0, 114, 178), RGBColor(213, 94, 0), RGBColor(0, 158, 115), RGBColor(204, 121, 167)];

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// Draws three panels against the number of nodes.
pub(crate) fn draw(path: &str, scenes: &[(&str, Vec<Point>)]) -> Result<(), Box<dyn Error>> {
    let area = SVGBackend::new(path, (760, 1_140)).into_drawing_area();
    area.fill(&WHITE)?;
    let (above, area) = area.split_vertically(ABOVE);
    legend(&above, scenes)?;
    let panels = area.split_evenly((3, 1));
    let [operations, held, wait] = panels.as_slice() else { return Err("three panels".into()) };
    let limit = Some((SERVER, "what one server does"));
    panel(operations, "scripts a second", 1.0..1e6, limit, scenes, |point| Some(point.operations))?;
    panel(
        held,
        "held unspent at one time, at worst, per cent of a limit",
        0.01..10.0,
        Some((5.0, "5 %")),
        scenes,
        |point| (point.held > 0.0).then_some(point.held),
    )?;
    panel(wait, "mean wait of a decision, ms", 0.001..10.0, None, scenes, |point| point.wait)?;
    area.present()?;
    Ok(())
}

/// The height of the legend, which is above all panels, since in none there is room for it.
const ABOVE: u32 = 90;

fn legend(area: &Area<'_>, scenes: &[(&str, Vec<Point>)]) -> Result<(), Box<dyn Error>> {
    for (((name, _), colour), y) in scenes.iter().zip(COLOURS).zip((20..).step_by(18)) {
        area.draw(&PathElement::new([(84, y), (104, y)], colour.stroke_width(2)))?;
        area.draw(&Text::new(*name, (112, y - 7), ("sans-serif", 14)))?;
    }
    Ok(())
}

/// One panel, both axes logarithmic.
fn panel(
    area: &Area<'_>,
    title: &str,
    range: Range<f64>,
    limit: Option<(f64, &str)>,
    scenes: &[(&str, Vec<Point>)],
    value: impl Fn(&Point) -> Option<f64>,
) -> Result<(), Box<dyn Error>> {
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 18))
        .margin(10)
        .margin_right(30)
        .x_label_area_size(36)
        .y_label_area_size(64)
        .build_cartesian_2d((1.0..1_000.0).log_scale(), range.log_scale())?;
    chart.configure_mesh().x_desc("nodes").light_line_style(WHITE).draw()?;
    for ((_, points), colour) in scenes.iter().zip(COLOURS) {
        let line = points.iter().filter_map(|point| Some((point.nodes, value(point)?)));
        chart.draw_series(LineSeries::new(line, colour.stroke_width(2)))?;
    }
    if let Some((limit, name)) = limit {
        chart.draw_series(LineSeries::new([(1.0, limit), (1_000.0, limit)], BLACK))?;
        // At the left, where curves are lower.
        let text = EmptyElement::at((1.1, limit)) + Text::new(name.to_owned(), (0, -16), ("sans-serif", 13));
        chart.draw_series([text])?;
    }
    Ok(())
}
